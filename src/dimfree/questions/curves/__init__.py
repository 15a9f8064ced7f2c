"""How much data does a learner need?"""
