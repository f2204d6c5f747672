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

// pageSize is the size to ask for: the command line wants all rows anyway.
func pageSize() *int { return new(maxPage) }

// page is what the contract's lists have in common; those that have nothing else convert to it.
type page[T any] struct {
	Items      []T
	NextCursor *string
}

// pager asks for one page of a list, the first without a cursor.
type pager[T any] func(cursor *string) (*page[T], error)

// errEnough ends the reading of pages or of a stream early.
var errEnough = errors.New("enough")

// eachPage hands one page after the other to f, until the last or errEnough.
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

// pages reads a list to its end; the result is never nil.
func pages[T any](get pager[T]) ([]T, error) {
	all := []T{}
	err := eachPage(get, func(items []T) error { all = append(all, items...); return nil })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// firstOf reads the first n of a list; the result is never nil.
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

// home connects a command and says which fabric it is about: c.pick, c.anywhere or c.inTenant. The names are the command's
// arguments.
type home func(cmd *cobra.Command, names ...string) (*apiclient.ClientWithResponses, string, error)

// anywhere is the home of what belongs to no fabric.
func (c *cli) anywhere(*cobra.Command, ...string) (*apiclient.ClientWithResponses, string, error) {
	client, err := c.client()
	return client, "", err
}

// lister asks for one page of what there is of a kind.
type lister[T any] func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[T], error)

// allOf reads all there is of a kind; the result is never nil.
func allOf[T any](cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, list lister[T]) ([]T, error) {
	return pages(func(cursor *string) (*page[T], error) { return list(cmd, client, fabric, cursor) })
}

// listed is a command that prints all there is of a kind.
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

// onName is a command on what its argument names.
func (c *cli) onName(at home, run func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric, name string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		client, fabric, err := at(cmd)
		if err != nil {
			return err
		}
		return run(cmd, client, fabric, args[0])
	}
}

// onNumber is a command on what its argument numbers, from 1; key is the text that refuses another argument.
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
