"""Host-side names of neighbouring systems, so that their documents' programs run with only import lines changed."""
