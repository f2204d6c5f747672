package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/glebarez/go-sqlite"
	"github.com/jackc/pgx/v5/pgconn"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// Codes of database failures that the request did not cause.
const (
	codeFull        = "storage-full"
	codeReadOnly    = "storage-read-only"
	codeUnavailable = "storage-unavailable"
	codeDamaged     = "storage-damaged"
	codeBlocked     = "storage-blocked" // only from the probe; a write that waits too long has codeUnavailable
)

// fault classifies errors of the database itself. The API answers them with 503, and the caller may retry, except for
// "storage-damaged". It returns all other errors unchanged, such as those of the domain or of a context. A rejected write
// is the database's fault only in a write transaction.
func (s *Store) fault(err error, writing bool) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	for _, kind := range []error{control.ErrNotFound, control.ErrConflict, control.ErrInvalid, control.ErrPrecondition, control.ErrUnavailable, control.ErrUnauthorized} {
		if errors.Is(err, kind) {
			return err
		}
	}
	code := classify(err)
	if code == "" || code == codeReadOnly && !writing {
		return err
	}
	if code == codeDamaged {
		return s.damage(err)
	}
	said := map[string]phrase.Text{
		codeFull:        phrase.Of("problem.database-full"),
		codeReadOnly:    phrase.Of("problem.database-read-only"),
		codeUnavailable: phrase.Of("problem.database-unavailable"),
	}[code]
	return &control.UnavailableError{Code: code, Said: said, Err: err}
}

// ioerrShmSize is SQLITE_IOERR_SHMSIZE: the index of the write-ahead log could not grow.
const ioerrShmSize = 4874

// opening is fault for a database that could not be opened: its text says what to do before the next start.
func (s *Store) opening(err error) error {
	typed := s.fault(err, true)
	var away *control.UnavailableError
	if !errors.As(typed, &away) {
		return typed
	}
	said := phrase.Of("database.silent")
	var lite *sqlite.Error
	switch {
	case IsDamage(err):
		said = phrase.Of("database.damaged")
	case away.Code == codeFull:
		said = phrase.Of("database.full")
	case away.Code == codeReadOnly && !errors.As(err, &lite):
		said = phrase.Of("database.no-primary")
	case errors.As(err, &lite):
		switch lite.Code() & 0xff {
		case 8, 14: // READONLY, CANTOPEN
			said = phrase.Of("database.no-rights")
		case 5, 6: // BUSY, LOCKED
			said = phrase.Of("database.held")
		default:
			said = phrase.Of("database.disk-fails")
		}
	}
	return &control.UnavailableError{Code: away.Code, Said: said, Err: away.Err}
}

// classify returns the code of a database failure, or "".
func classify(err error) string {
	var lite *sqlite.Error
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &lite):
		return classifySQLite(lite.Code())
	case errors.As(err, &pg):
		return classifyPostgres(pg.Code)
	}
	if IsDamage(err) {
		return codeDamaged
	}
	if isLost(err) {
		return codeUnavailable
	}
	return ""
}

// isLost reports whether an error says that there is no connection to the database.
func isLost(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// cut adds the context's error to an error that the end of the context can cause: an interrupted SQLite statement, a
// transaction rolled back before its commit, or a lost connection. pgx answers driver.ErrBadConn for a statement that the
// end of its context kept from being sent.
func cut(ctx context.Context, err error) error {
	var lite *sqlite.Error
	interrupted := errors.As(err, &lite) && lite.Code()&0xff == 9 // SQLITE_INTERRUPT
	if ctx.Err() != nil && (interrupted || errors.Is(err, sql.ErrTxDone) || isLost(err)) {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// classifySQLite classifies a primary result code, the low byte (SQLite, Result and Error Codes, section 3).
func classifySQLite(code int) string {
	if code == ioerrShmSize { // the directory has no room
		return codeFull
	}
	switch code & 0xff {
	case 13: // SQLITE_FULL
		return codeFull
	case 8: // SQLITE_READONLY
		return codeReadOnly
	case 11, 26: // CORRUPT, NOTADB
		return codeDamaged
	case 5, 6, 10, 14, 15: // BUSY, LOCKED, IOERR, CANTOPEN, PROTOCOL
		return codeUnavailable
	}
	return ""
}

// isBusy reports whether another process holds a SQLite file.
func isBusy(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && lite.Code()&0xff == 5
}

// classifyPostgres classifies an SQLSTATE (PostgreSQL 15, appendix A).
func classifyPostgres(state string) string {
	switch state {
	case "53100": // disk_full
		return codeFull
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return codeDamaged
	case "25006": // read_only_sql_transaction
		return codeReadOnly
	case "55P03", "40001", "40P01", "25P03", "25P04": // lock not available, serialization, deadlock, idle or long transaction
		return codeUnavailable
	}
	switch state[:min(2, len(state))] {
	case "08", "53", "57", "58", "XX", "3D", "28": // connection, resources, intervention, system, internal, no such database, authorization
		return codeUnavailable
	}
	return ""
}
