package remote

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
)

// endpoints is the verb that lists a tenant's ports with their state.
func (c *cli) endpoints() *cobra.Command {
	cmd := c.verb("tenant", "endpoints NAME", "  fairlane tenant endpoints red\n  fairlane tenant endpoints red -o json", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return listed(c, c.pick, func(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.Endpoint], error) {
			list, err := found[gen.EndpointList](c)(client.ListEndpointsWithResponse(cmd.Context(), fabric, args[0], &gen.ListEndpointsParams{Limit: pageSize(), Cursor: cursor}))
			if err != nil {
				return nil, err
			}
			return &page[gen.Endpoint]{Items: list.Items, NextCursor: list.NextCursor}, nil
		}, c.endpointTable)(cmd, nil)
	})
	c.long("", cmd)
	return cmd
}

func (c *cli) endpointTable(list []gen.Endpoint) *table {
	t := c.newTable("port", "state", "since", "seen", "sl>", "classes", "functions>")
	for i := range list {
		e := &list[i]
		functions := "-"
		if e.Functions != nil {
			functions = strconv.Itoa(*e.Functions)
		}
		t.add(portName(e.Name, e.Port), c.known("port-state.", string(e.State)), timeOrDash(e.StateSince), timeOrDash(e.SeenAt), slOrDash(e.SL), strings.Join(e.Classes, ","), functions)
	}
	return t
}
