"""django-machina: a board of forums with topics, replies, polls, subscriptions and moderators."""
