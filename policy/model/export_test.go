package model

// TreeModel is the model of a fat tree with some flows.
var TreeModel = treeModel
