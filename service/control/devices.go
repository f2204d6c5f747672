package control

import (
	"time"
)

// StateQuarantined is the state of a device that is left alone for changing again and again.
const StateQuarantined = "quarantined"

// Bounds of a measurement.
const (
	MinWindow = time.Millisecond
	MaxWindow = time.Minute
	// MaxWall bounds the time that a request may wait for a slow, simulated fabric.
	MaxWall = 4 * time.Minute
)
