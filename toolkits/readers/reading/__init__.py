"""What readers share: records of a file one by one, images by reference, trajectory folders, what was left out."""
