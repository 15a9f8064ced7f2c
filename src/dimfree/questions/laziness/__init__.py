"""How lazy is training on given points?"""
