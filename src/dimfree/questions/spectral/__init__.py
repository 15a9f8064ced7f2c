"""How well would a spectral estimator do with the samples that SGD uses?"""
