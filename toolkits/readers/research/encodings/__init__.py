"""How several sets write things down: TFRecords, Android's accessibility trees, HTML with numbers, pyautogui's code."""
