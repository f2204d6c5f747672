package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/internal/cobraerror"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// translateHelp translates cobra's own texts: the headings of help, the flags that every command has, and the built-in
// commands.
func (a *App) translateHelp(root *cobra.Command) {
	root.SetHelpCommand(a.helpCommand())
	root.InitDefaultHelpCmd() // otherwise cobra adds both later
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = a.T("flag.version")
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			a.completionWords(cmd)
		}
	}
	root.SetUsageTemplate(strings.NewReplacer(
		"Usage:{{", a.T("help.usage")+"{{", "Aliases:", a.T("help.aliases"), "Examples:", a.T("help.examples"), "Available Commands:", a.T("help.commands"),
		"Global Flags:", a.T("help.global-flags"), "\nFlags:", "\n"+a.T("help.flags"),
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, a.T("help.more", "command", "{{.CommandPath}}"),
		"{{if .HasAvailableInheritedFlags}}", "{{if and .HasAvailableInheritedFlags (not .Annotations."+alone+")}}",
	).Replace(root.UsageTemplate()))
	a.helpFlags(root)
}

// completionWords explains how to load the script for each shell: in the current shell, or in every new one.
func (a *App) completionWords(cmd *cobra.Command) {
	cmd.Short = a.T("completion.short")
	cmd.Long = cmd.Short
	examples := map[string]string{
		"bash":       "  source <(fairlane completion bash)\n  fairlane completion bash > /etc/bash_completion.d/fairlane",
		"zsh":        "  source <(fairlane completion zsh)\n  fairlane completion zsh > \"${fpath[1]}/_fairlane\"",
		"fish":       "  fairlane completion fish | source\n  fairlane completion fish > ~/.config/fish/completions/fairlane.fish",
		"powershell": "  fairlane completion powershell | Out-String | Invoke-Expression",
	}
	for _, shell := range cmd.Commands() {
		shell.Short = a.T("completion.shell", "shell", shell.Name())
		shell.Long, shell.Example = a.T("completion.long"), examples[shell.Name()]
		if f := shell.Flags().Lookup("no-descriptions"); f != nil {
			f.Usage = a.T("completion.bare")
		}
	}
}

func (a *App) helpFlags(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().Lookup("help").Usage = a.T("flag.help")
	for _, sub := range cmd.Commands() {
		a.helpFlags(sub)
	}
}

// helpCommand prints the help of the command in its arguments.
func (a *App) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: a.T("help.short"), Long: a.T("help.long"), DisableFlagsInUseLine: true, Args: cobra.ArbitraryArgs,
		Example: "  fairlane help compile\n  fairlane help device cc-key",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			if at, rest, _ := cmd.Root().Find(args); len(rest) == 0 {
				for _, sub := range at.Commands() {
					if sub.IsAvailableCommand() {
						out = append(out, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, rest, _ := cmd.Root().Find(args) // its error does not cover the rest for all commands
			switch {
			case len(rest) == 0:
				return at.Help()
			case at.HasSubCommands():
				return usage.Wrap(cobraerror.Command(at, rest[0]))
			}
			return usage.Of(phrase.Of("usage.no-commands", "found", fmt.Sprintf("%q", rest[0]), "command", fmt.Sprintf("%q", at.CommandPath())))
		},
	}
}
