package remote

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
)

// maxPage is the largest page that the contract allows.
const maxPage = 1000

// pageSize is the size that the command line requests, because it needs all rows.
func pageSize() *int { return new(maxPage) }

// page is the common part of the contract's lists; lists without other fields convert to it.
type page[T any] struct {
	Items      []T
	NextCursor *string
}

// pager requests one page of a list, the first without a cursor.
type pager[T any] func(cursor *string) (*page[T], error)

// errEnough stops reading pages or a stream.
var errEnough = errors.New("enough")

// eachPage passes the pages to f in order, until the last one or errEnough.
func eachPage[T any](get pager[T], f func([]T) error) error {
	var cursor *string
	for {
		p, err := get(cursor)
		if err == nil {
			err = f(p.Items)
		}
		switch {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return err
		case p.NextCursor == nil:
			return nil
		}
		cursor = p.NextCursor
	}
}

// pages reads a whole list; the result is never nil.
func pages[T any](get pager[T]) ([]T, error) {
	all := []T{}
	err := eachPage(get, func(items []T) error { all = append(all, items...); return nil })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// firstOf reads the first n entries of a list; the result is never nil.
func firstOf[T any](n int, get pager[T]) ([]T, error) {
	all := []T{}
	err := eachPage(get, func(items []T) error {
		if all = append(all, items[:min(len(items), n-len(all))]...); len(all) == n {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// home connects a command and returns its fabric: c.pick, c.anywhere or c.inTenant. names are the command's arguments.
type home func(cmd *cobra.Command, names ...string) (*apiclient.ClientWithResponses, string, error)

// anywhere is the home of objects that belong to no fabric.
func (c *cli) anywhere(*cobra.Command, ...string) (*apiclient.ClientWithResponses, string, error) {
	client, err := c.client()
	return client, "", err
}

// lister requests one page of the objects of a kind.
type lister[T any] func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[T], error)

// allOf reads all objects of a kind; the result is never nil.
func allOf[T any](cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, list lister[T]) ([]T, error) {
	return pages(func(cursor *string) (*page[T], error) { return list(cmd, client, fabric, cursor) })
}

// listed is a command that prints all objects of a kind.
func listed[T any](c *cli, at home, list lister[T], show func([]T) *table) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, fabric, err := at(cmd, args...)
		if err != nil {
			return err
		}
		all, err := allOf(cmd, client, fabric, list)
		if err != nil {
			return err
		}
		return c.print(cmd, all, func() *table { return show(all) })
	}
}

// onName is a command on the object that its argument names.
func (c *cli) onName(at home, run func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, fabric, err := at(cmd)
		if err != nil {
			return err
		}
		return run(cmd, client, fabric, args[0])
	}
}

// onNumber wraps a command on an object identified by the number in its argument, from 1; key is the text for an invalid argument.
func (c *cli) onNumber(at home, key string, run func(*cobra.Command, *apiclient.ClientWithResponses, string, int64) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		n, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || n < 1 {
			return c.usage(key, "found", fmt.Sprintf("%q", args[0]))
		}
		client, fabric, err := at(cmd)
		if err != nil {
			return err
		}
		return run(cmd, client, fabric, n)
	}
}
