// Package cmdlinetest provides code that tests of commands share.
package cmdlinetest

import (
	"io"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
)

// App returns an App with a language and discarded output.
func App(t testing.TB, lang string) *cmdline.App {
	t.Helper()
	texts, err := i18n.Load(lang)
	if err != nil {
		t.Fatal(err)
	}
	return &cmdline.App{Stdout: io.Discard, Stderr: io.Discard, Texts: texts}
}
