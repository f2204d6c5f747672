package control

import (
	"errors"
)

// ErrDryRun rolls a transaction back after all checks and all writes went through.
var ErrDryRun = errors.New("dry run")
