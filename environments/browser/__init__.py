"""The browser layer: Selenium starts and stops chromium, one CDP connection per browser does all work on pages."""
