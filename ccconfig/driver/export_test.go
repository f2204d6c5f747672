package driver

// SameName exports sameName for tests.
var SameName = sameName
