package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/command/remote"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/service/config"
	"fairlane/service/control/operations"
	"fairlane/service/store"
)

// dbCommand is `fairlane db`: operations on the database itself, on the service's machine.
func (a *app) dbCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "db", Short: a.T("db.short"), Long: a.T("db.long")}
	cmd.AddCommand(a.dbBackupCommand(), a.dbRestoreCommand(), a.dbCheckCommand(), a.dbMigrateCommand(), a.dbPruneCommand())
	return cmd
}

// dbVerb returns a command on the configured database.
func (a *app) dbVerb(name, example string, run func(ctx context.Context, l *config.Loaded, database string) error) *cobra.Command {
	return a.Configured(&cobra.Command{
		Use: name, Short: a.T("db." + name + ".short"), Long: a.T("db." + name + ".long"), Example: example,
	}, func(ctx context.Context, l *config.Loaded) error {
		database, err := config.DatabaseURL(&l.Config)
		if err != nil {
			return usage.Wrap(err)
		}
		return run(ctx, l, database)
	})
}

func (a *app) dbBackupCommand() *cobra.Command {
	var to string
	var without bool
	cmd := a.dbVerb("backup", "  fairlane db backup --config /etc/fairlane/fairlane.yaml --to fairlane-20261121.backup",
		func(ctx context.Context, l *config.Loaded, database string) error {
			if to == "" {
				return usage.Errorf("%s", a.T("db.need", "flag", "to"))
			}
			stop := progress.On(a.Stderr).Every(time.Second, func(elapsed time.Duration) string {
				written := int64(0)
				if info, err := os.Stat(to + store.Partial); err == nil {
					written = info.Size()
				}
				return a.T("db.backup.progress", "written", cmdline.Size(written), "elapsed", elapsed.Round(time.Second))
			})
			in, err := a.backUp(ctx, database, seriesFolder(l, without), to)
			stop()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, a.T("db.backup.done", "file", to, "holds", in, "tail", in.Audit.Tail))
			return err
		})
	cmd.Flags().StringVar(&to, "to", "", a.T("db.backup.flag.to"))
	cmd.Flags().BoolVar(&without, "no-series", false, a.T("db.backup.flag.no-series"))
	return cmd
}

func (a *app) dbRestoreCommand() *cobra.Command {
	var from string
	var force, without bool
	cmd := a.dbVerb("restore", "  fairlane db restore --config /etc/fairlane/fairlane.yaml --from fairlane-20261121.backup",
		func(ctx context.Context, l *config.Loaded, database string) (err error) {
			if from == "" {
				return usage.Errorf("%s", a.T("db.need", "flag", "from"))
			}
			if !store.IsPostgres(database) {
				lock, err := store.Lock(database) // no manager may start during the restore
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, lock.Close()) }()
			}
			stop := progress.On(a.Stderr).Every(time.Second, func(elapsed time.Duration) string {
				return a.T("db.restore.progress", "elapsed", elapsed.Round(time.Second))
			})
			done, said, err := a.restoreBoth(ctx, from, database, seriesFolder(l, without), force, time.Now())
			stop()
			if err != nil {
				return err
			}
			lines := []string{a.T("db.restore.done", "holds", done.Backup, "tail", done.Backup.Audit.Tail)}
			if done.Kept != "" {
				lines = append(lines, a.T("db.restore.kept", "kept", done.Kept))
			}
			lines = append(lines, said...)
			if done.Paused > 0 {
				lines = append(lines, a.T("db.restore.paused", "count", done.Paused))
			}
			_, err = fmt.Fprintln(a.Stdout, strings.Join(lines, "\n"))
			return err
		})
	cmd.Flags().StringVar(&from, "from", "", a.T("db.restore.flag.from"))
	cmd.Flags().BoolVar(&force, "force", false, a.T("db.restore.flag.force"))
	cmd.Flags().BoolVar(&without, "no-series", false, a.T("db.restore.flag.no-series"))
	remote.Destroys(cmd, a.Texts, "ask.db-restore", "force")
	return cmd
}

func (a *app) dbCheckCommand() *cobra.Command {
	var asJSON bool
	cmd := a.dbVerb("check", "  fairlane db check --config /etc/fairlane/fairlane.yaml",
		func(ctx context.Context, _ *config.Loaded, database string) error {
			in, err := store.Inspect(ctx, database)
			if err != nil {
				return err
			}
			if asJSON {
				err = cmdline.PrintJSON(a.Stdout, in)
			} else {
				err = a.printInspection(in)
			}
			if err == nil && len(in.Faults) > 0 {
				err = errors.New(a.T("db.check.faults", "count", len(in.Faults)))
			}
			return err
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	return cmd
}

func (a *app) printInspection(in store.Inspection) error {
	lines := []string{
		a.T("db.check.schema", "version", in.Version, "newest", in.Know),
		a.T("db.check.holds", "holds", in),
		a.T("db.check.audit", "entries", in.Audit.Entries, "tail", in.Audit.Tail),
	}
	for _, fault := range in.Faults {
		lines = append(lines, a.T("db.check.fault", "fault", fault))
	}
	for _, note := range in.Notes {
		lines = append(lines, a.T("db.check.note", "note", note))
	}
	if len(in.Faults) == 0 {
		lines = append(lines, a.T("db.check.sound"))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(a.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) dbMigrateCommand() *cobra.Command {
	var status, asJSON bool
	cmd := a.dbVerb("migrate", "  fairlane db migrate --status\n  fairlane db migrate --database fairlane.db",
		func(ctx context.Context, _ *config.Loaded, database string) error {
			if !status {
				if err := store.Migrate(ctx, database); err != nil {
					return err
				}
			}
			list, err := store.Migrations(ctx, database)
			if err != nil {
				return err
			}
			if asJSON {
				return cmdline.PrintJSON(a.Stdout, list)
			}
			t := cmdline.NewTable(a.Stdout, 0)
			fmt.Fprintf(t, "%s\t%s\n", a.T("db.col.migration"), a.T("db.col.state"))
			for _, m := range list {
				state := "db.state.missing"
				if m.Applied {
					state = "db.state.applied"
				}
				fmt.Fprintf(t, "%s\t%s\n", m.Name, a.T(state))
			}
			return t.Flush()
		})
	cmd.Flags().BoolVar(&status, "status", false, a.T("db.migrate.flag.status"))
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	return cmd
}

func (a *app) dbPruneCommand() *cobra.Command {
	var asJSON bool
	cmd := a.dbVerb("prune", "  fairlane db prune --config /etc/fairlane/fairlane.yaml",
		func(ctx context.Context, l *config.Loaded, database string) (err error) {
			s, err := store.Open(ctx, database, store.Options{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			out, err := operations.Prune(ctx, s, time.Now, operations.Retention(l.Retention))
			if err != nil {
				return err
			}
			if asJSON {
				return cmdline.PrintJSON(a.Stdout, out)
			}
			_, err = fmt.Fprintln(a.Stdout, a.T("db.prune.done", "events", out.Events, "devices", out.RolloutDevices,
				"plans", out.Plans, "snapshots", out.Snapshots, "audit", out.Audit, "maintenance", out.Maintenance))
			return err
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	remote.Destroys(cmd, a.Texts, "ask.db-prune")
	return cmd
}
