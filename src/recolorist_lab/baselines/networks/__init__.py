"""The thirteen style-transfer networks, one module each."""
