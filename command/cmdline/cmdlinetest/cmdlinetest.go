// Package cmdlinetest makes what commands share, for their tests.
package cmdlinetest

import (
	"io"
	"testing"

	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
)

// App speaks a language and prints nowhere.
func App(t testing.TB, lang string) *cmdline.App {
	t.Helper()
	texts, err := i18n.Load(lang)
	if err != nil {
		t.Fatal(err)
	}
	return &cmdline.App{Stdout: io.Discard, Stderr: io.Discard, Texts: texts}
}
