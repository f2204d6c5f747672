package app

import "errors"

// errBoundMissed is a run that worked but missed a bound it promises: exit code 1.
var errBoundMissed = errors.New("bound missed")

// Exit codes that others rely on.
const (
	exitDone   = 0
	exitFailed = 1 // failed, or a bound was missed
	exitUsage  = 2 // wrong usage or bad input
)
