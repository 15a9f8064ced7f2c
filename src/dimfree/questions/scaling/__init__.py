"""How large a model, how much data, which rate, for a budget of compute?"""
