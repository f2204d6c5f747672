package store

import (
	"fmt"
	"strconv"

	"gorm.io/gorm"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// afterID parses a numeric cursor, 0 for the first page.
func afterID(p control.Page) (int64, error) {
	if p.After == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(p.After, 10, 64)
	if err != nil || id < 0 {
		return 0, control.Invalid("cursor", phrase.Of("problem.cursor"))
	}
	return id, nil
}

// newestFirst reads a page of a query's rows by a growing numeric column, highest first. what describes the list in
// errors.
func newestFirst[R any](q *gorm.DB, column, what string, p control.Page, number func(R) int64) (rows []R, next string, err error) {
	after, err := afterID(p)
	if err != nil {
		return nil, "", err
	}
	if after > 0 {
		q = q.Where(column+" < ?", after)
	}
	return page(q.Order(column+" DESC"), what, p, numbered(number))
}

// oldestFirst is newestFirst in ascending order.
func oldestFirst[R any](q *gorm.DB, column, what string, p control.Page, number func(R) int64) (rows []R, next string, err error) {
	after, err := afterID(p)
	if err != nil {
		return nil, "", err
	}
	return page(q.Where(column+" > ?", after).Order(column), what, p, numbered(number))
}

// byName reads a page of a query's rows by a column of names. what describes the list in errors.
func byName[R any](q *gorm.DB, column, what string, p control.Page, name func(R) string) (rows []R, next string, err error) {
	return page(q.Where(column+" > ?", p.After).Order(column), what, p, name)
}

func numbered[R any](number func(R) int64) func(R) string {
	return func(row R) string { return strconv.FormatInt(number(row), 10) }
}

// page reads the rows of a page and one more. If that one exists, there is a next page, with the cursor of the last row.
func page[R any](q *gorm.DB, what string, p control.Page, cursor func(R) string) (rows []R, next string, err error) {
	size := p.Size()
	if err := q.Limit(size + 1).Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list %s: %w", what, err)
	}
	if len(rows) <= size {
		return rows, "", nil
	}
	return rows[:size], cursor(rows[size-1]), nil
}

// each converts rows to their domain types.
func each[R, T any](rows []R, domain func(R) T) []T {
	list := make([]T, len(rows))
	for i, row := range rows {
		list[i] = domain(row)
	}
	return list
}

// tryEach converts rows, and fails at the first damaged one.
func tryEach[R, T any](rows []R, domain func(R) (T, error)) (_ []T, err error) {
	list := make([]T, len(rows))
	for i, row := range rows {
		if list[i], err = domain(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}
