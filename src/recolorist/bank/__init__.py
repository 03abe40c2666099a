"""Style banks: the colour statistics of many images, kept in one file."""
