package inventory

// Keys returns the keys of a mapping.
func Keys(of string) []string {
	switch of {
	case "tls":
		return tlsKeys()
	case "device":
		return deviceKeys()
	}
	return rootKeys()
}
