"""The spec language: frozen pydantic models of what a YAML file under ``specs/`` may say."""
