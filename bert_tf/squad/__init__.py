"""Questions on texts, as SQuAD asks them: JSON -> questions -> windows -> answers -> official scores, in plain Python and NumPy.

A *window* is one input of the model: a question and as much of its context as fits beside it. Axes: pieces, those of one context.
"""
