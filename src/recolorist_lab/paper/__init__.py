"""The paper's numbers; imported by tables and the report only."""
