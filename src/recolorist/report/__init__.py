"""Charts and pages, as SVG and HTML."""
