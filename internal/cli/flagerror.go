package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FlagError is the error of a flag whose value cannot be read, in words instead of those of package strconv. Other errors
// come back as they are.
func FlagError(err error) error {
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err
	}
	return fmt.Errorf("%s: want %s", strings.TrimSuffix(err.Error(), ": "+number.Error()), wanted(number))
}

// wanted says what a strconv function reads.
func wanted(e *strconv.NumError) string {
	switch {
	case strings.HasPrefix(e.Func, "ParseBool"):
		return "true or false"
	case strings.HasPrefix(e.Func, "ParseFloat"):
		return "a number"
	case errors.Is(e.Err, strconv.ErrRange):
		return "a smaller number"
	case strings.HasPrefix(e.Func, "ParseUint"):
		return "a whole number, 0 or more"
	}
	return "a whole number"
}
