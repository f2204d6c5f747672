package driver

// SameName is what tests of names reach in for.
var SameName = sameName
