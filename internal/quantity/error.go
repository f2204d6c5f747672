package quantity

// Error reports a text or a number that is not a valid quantity. Package phrase has its sentence in every language.
type Error struct {
	Want  Want
	Found string // quoted text, or a number
}

// Want is the input that a parser accepts.
type Want uint8

// Inputs of the parsers.
const (
	WantRate Want = iota
	WantRateUnit
	WantDuration
	WantWeight
	WantDecimals // a weight with the allowed number of decimals
)

// Error returns the value found and the values allowed.
func (e *Error) Error() string {
	switch e.Want {
	case WantRate:
		return "rate " + e.Found + ": want a number from 0 to 100 Tbit/s with a unit such as Mbit/s, Gbit/s or none for bit/s"
	case WantRateUnit:
		return "rate " + e.Found + ": want a unit such as Mbit/s or Gbit/s; without one it is bit/s, at least 1000000"
	case WantDuration:
		return "duration " + e.Found + ": want a number from 0 to 1000 s with one of the units ps, ns, us, ms, s"
	case WantDecimals:
		return "weight " + e.Found + ": want at most three decimals"
	default:
		return "weight " + e.Found + ": want a number from 0.001 to 1000000"
	}
}

// Is matches ErrNoUnit.
func (e *Error) Is(target error) bool { return e.Want == WantRateUnit && target == ErrNoUnit }
