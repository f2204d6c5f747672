package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"fairlane/agent"
)

// restored is one row of restore's output.
type restored struct {
	NIC      string  `json:"nic"`
	Port     int     `json:"port"`
	Name     string  `json:"name"`
	Index    int     `json:"index"`
	Now      *uint64 `json:"now"` // null: unreadable
	Original *uint64 `json:"original"`
}

func (a *app) restoreCommand() *cobra.Command {
	var asJSON, dry bool
	cmd := &cobra.Command{
		Use: "restore", Short: a.t("agent.restore.short"), Long: a.t("agent.restore.long"), Args: cobra.NoArgs,
		Example: "  fairlane-agent restore --dry-run\n  systemctl stop fairlane-agent && fairlane-agent restore",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.restore(cmd.Context(), dry, asJSON) },
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, a.t("agent.flag.dry-run"))
	cmd.Flags().BoolVar(&asJSON, "json", false, a.t("agent.flag.json"))
	return cmd
}

func (a *app) restore(ctx context.Context, dry, asJSON bool) (err error) {
	c, err := a.config()
	if err != nil {
		return err
	}
	if !dry {
		unlock, locked := lockJournal(c.Journal)
		if locked != nil {
			return locked
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	on, h, err := a.openReadOnly(ctx, &c, !dry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	all, failed := on.Restore(ctx, dry)
	if err := a.printRestored(all, dry, asJSON); err != nil {
		return err
	}
	return failed
}

func (a *app) printRestored(all []agent.Restoration, dry, asJSON bool) error {
	rows := []restored{}
	for _, r := range all {
		for _, p := range r.Params {
			row := restored{NIC: r.Name, Port: p.Port, Name: p.Name, Index: p.Index, Original: &p.Original}
			if p.Readable {
				row.Now = &p.Now
			}
			rows = append(rows, row)
		}
		for _, port := range r.WRCC {
			rows = append(rows, restored{NIC: r.Name, Port: port, Name: "wrcc"})
		}
	}
	if asJSON {
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(a.stdout, a.t("agent.restore.nothing"))
		return err
	}
	number := func(n *uint64) string {
		if n == nil {
			return "-"
		}
		return strconv.FormatUint(*n, 10)
	}
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = []string{r.NIC, strconv.Itoa(r.Port), r.Name, strconv.Itoa(r.Index), number(r.Now), number(r.Original)}
	}
	if err := a.table(a.heads("nic", "port", "parameter", "index", "before", "after"), cells); err != nil {
		return err
	}
	key := "agent.restore.done"
	if dry {
		key = "agent.restore.dry"
	}
	if slices.ContainsFunc(all, func(r agent.Restoration) bool { return r.Err != nil }) {
		return nil // the command's error reports it
	}
	_, err := fmt.Fprintln(a.stderr, a.t(key, "count", len(rows)))
	return err
}
