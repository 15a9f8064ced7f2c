"""What would a spectral estimator do with the samples of SGD?"""
