"""Which learning-rate schedule is best, and does real SGD agree?"""
