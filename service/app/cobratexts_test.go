package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/i18n"
)

// TestHelpIsInTheUsersLanguage reads the help of every command in Chinese: none of cobra's own words are in it.
func TestHelpIsInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	text, err := i18n.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--lang", "zh"}
	root := (&app{&cmdline.App{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Texts: text}}).root(args)
	commands := 0
	var read func(cmd *cobra.Command)
	read = func(cmd *cobra.Command) {
		commands++
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
		help := out.String()
		for _, word := range []string{"Usage:", "Aliases:", "Examples:", "Commands:", "Flags:", "help for ", "version for ", "for more information", "Generate", "disable completion"} {
			if strings.Contains(help, word) {
				t.Errorf("the help of %s has %q:\n%s", cmd.CommandPath(), word, help)
			}
		}
		if !strings.Contains(help, "用法：") {
			t.Errorf("the help of %s does not say how it is used:\n%s", cmd.CommandPath(), help)
		}
		for _, sub := range cmd.Commands() {
			read(sub)
		}
	}
	read(root)
	if commands < 100 {
		t.Errorf("%d commands were read: the test is no test", commands)
	}
}

func TestHelpOfUnknownCommands(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"help foo":         `unknown command "foo" for "fairlane": want one of alert, apply`,
		"help device foo":  `unknown command "foo" for "fairlane device": want one of capabilities, cc-key`,
		"help compile foo": `"foo": "fairlane compile" has no subcommands`,
	} {
		var out, words bytes.Buffer
		code := Main(t.Context(), append(strings.Fields(args), "--lang", "en"), &out, &words)
		if code != cmdline.ExitUsage || out.Len() > 0 || !strings.Contains(words.String(), want) {
			t.Errorf("fairlane %s: exit %d, %q on standard output, want %q in %q", args, code, out.String(), want, words.String())
		}
	}
	var out, words bytes.Buffer
	if code := Main(t.Context(), []string{"help", "device", "cc-key", "--lang", "en"}, &out, &words); code != cmdline.ExitDone || !strings.Contains(out.String(), "fairlane device cc-key") {
		t.Errorf("exit %d, %q, %q", code, out.String(), words.String())
	}
}
