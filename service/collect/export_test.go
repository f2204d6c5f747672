package collect

// PortFamily returns the family of a kind of counts, "" for none.
func PortFamily(kind string) string { return portFamilies[kind] }
