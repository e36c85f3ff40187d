// Command nri-plugin is a plug-in of the container runtime for the tests. It gives the containers of a pod what the
// pod's annotations say: test.snug.dev/cdi a CDI device, test.snug.dev/device the node of a GPU at this path,
// test.snug.dev/visible-devices the value of NVIDIA_VISIBLE_DEVICES. Once it is registered it prints a line.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
)

type plugin struct{}

// Synchronize is called when the runtime has registered the plug-in.
func (plugin) Synchronize(context.Context, []*api.PodSandbox, []*api.Container) ([]*api.ContainerUpdate, error) {
	fmt.Println("registered")
	return nil, nil
}

func (plugin) CreateContainer(_ context.Context, pod *api.PodSandbox, _ *api.Container) (
	*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	adjustment := &api.ContainerAdjustment{}
	if name, found := pod.Annotations["test.snug.dev/cdi"]; found {
		adjustment.AddCDIDevice(&api.CDIDevice{Name: name})
	}
	if path, found := pod.Annotations["test.snug.dev/device"]; found {
		adjustment.AddDevice(&api.LinuxDevice{Path: path, Type: "c", Major: 195, Minor: 0})
	}
	if value, found := pod.Annotations["test.snug.dev/visible-devices"]; found {
		adjustment.RemoveEnv("NVIDIA_VISIBLE_DEVICES")
		adjustment.AddEnv("NVIDIA_VISIBLE_DEVICES", value)
	}
	return adjustment, nil, nil
}

func main() {
	socket := flag.String("socket", "", "the runtime's socket for plug-ins")
	flag.Parse()
	served, err := stub.New(plugin{}, stub.WithPluginName("foreign"), stub.WithPluginIdx("99"), stub.WithSocketPath(*socket))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(served.Run(context.Background()))
}
