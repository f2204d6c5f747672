// Fillaudit appends entries to the audit log of a store, so that tests can open long logs.
//
//	fillaudit DATABASE N   append N entries to the SQLite database
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/store"
)

func main() {
	if err := fill(context.Background(), os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "fillaudit:", err)
		os.Exit(1)
	}
}

func fill(ctx context.Context, args []string) (err error) {
	if len(args) != 2 {
		return errors.New("usage: fillaudit DATABASE N")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	s, err := store.OpenSQLite(ctx, args[0], store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	const batch = 10_000 // entries of a transaction
	begin := time.Now().Add(-time.Duration(n) * time.Second)
	for at := 0; at < n; at += batch {
		err := s.Tx(ctx, func(r control.Repos) error {
			for i := at; i < min(at+batch, n); i++ {
				if _, err := r.AppendAudit(ctx, audit.Entry{
					At: begin.Add(time.Duration(i) * time.Second), Actor: fmt.Sprintf("operator-%d", i%7), ActorKind: "user",
					Fabric: "large", Action: "tenant.updated", Object: fmt.Sprintf("tenants/large/tenant-%04d", i%2000), Outcome: audit.Done,
				}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
