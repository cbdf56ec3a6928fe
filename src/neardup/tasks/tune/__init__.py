"""Settings found by asking: which pairs are duplicates is the user's to say, and what follows from it is counted.

grid       the settings that are tried, and what of them suits the texts
pool       pairs of documents with their similarity under each setting, and how many of the collection each stands for
model      what the similarities of a pair say, given the answers: logistic regression with several priors
cells      a setting at a threshold: how many pairs it finds, and how many of them are duplicates if the model is right
dialogue   which pair is asked next, and with what probability
estimate   the setting that is chosen, and what is to be expected of it
proposal   a preset from the texts alone
answers    answers and labels that outlive a run
asking     who is asked, and what may come back
session    a dialogue with a memory: labels, the answers of earlier runs, and the file that keeps those of this one
public     ``neardup.tune``
"""
