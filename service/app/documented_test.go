package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlane/internal/i18n"
)

// TestEveryDocumentedCommandExists reads each command of the README and the guides as the program would, without running it.
func TestEveryDocumentedCommandExists(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, "../../README.md", "../../README.zh.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range documented(string(text)) {
			seen++
			a := testApp(t, i18n.Default)
			root := a.root(words)
			root.InitDefaultCompletionCmd(words...)
			cmd, rest, err := root.Find(words)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && cmd.Args != nil {
				err = cmd.Args(cmd, cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: fairlane %s: %v", filepath.Base(page), strings.Join(words, " "), err)
			}
		}
	}
	if seen < 60 {
		t.Errorf("%d commands seen", seen)
	}
}

var (
	documentedLine = regexp.MustCompile(`(?m)^(?: {4})?(?:\$ )?fairlane (.*)$`)
	shellRest      = regexp.MustCompile(`(?: +(?:#|>|<|&|\||2>)|  ).*`)
	shellWord      = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
)

// documented are the arguments of the lines of code that begin with the program's name.
func documented(text string) (commands [][]string) {
	for _, m := range documentedLine.FindAllStringSubmatch(text, -1) {
		words := shellWord.FindAllString(shellRest.ReplaceAllString(m[1], ""), -1)
		for i := range words {
			words[i] = strings.NewReplacer(`'`, ``, `"`, ``).Replace(words[i])
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
	}
	return commands
}
