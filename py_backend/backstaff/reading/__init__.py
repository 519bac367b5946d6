"""What files hold, as text: which file or unsaved buffer, in which encoding, and which lines."""
