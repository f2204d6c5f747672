package app

import "errors"

// errBoundMissed is a run that worked but missed a bound it promises: exit code 1.
var errBoundMissed = errors.New("bound missed")
