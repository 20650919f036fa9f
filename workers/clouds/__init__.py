"""What is known of one provider and needed in more than one place: its interface and documents."""
