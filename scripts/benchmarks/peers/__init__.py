"""What runs on the peers' side: their own languages, their own interpreter where need be."""
