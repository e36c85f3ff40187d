// Command device-plugin is a device plug-in of the kubelet for the tests. It offers devices of one resource, and
// gives each container that gets one what its flags say.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const deviceCount = 8

type plugin struct {
	api.UnimplementedDevicePluginServer
	given *api.ContainerAllocateResponse
}

func (*plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (*plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	response := &api.ListAndWatchResponse{}
	for number := range deviceCount {
		response.Devices = append(response.Devices, &api.Device{ID: fmt.Sprint(number), Health: api.Healthy})
	}
	if err := stream.Send(response); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, p.given)
	}
	return response, nil
}

func register(resource, endpoint string) error {
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = api.NewRegistrationClient(connection).Register(context.Background(), &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: resource})
	return err
}

func main() {
	resource := flag.String("resource", "", "the name of the resource")
	given := &api.ContainerAllocateResponse{Envs: map[string]string{}}
	flag.Func("env", "NAME=VALUE: a variable", func(text string) error {
		name, value, _ := strings.Cut(text, "=")
		given.Envs[name] = value
		return nil
	})
	flag.Func("device", "HOST:CONTAINER: the paths of a device node", func(text string) error {
		host, container, _ := strings.Cut(text, ":")
		given.Devices = append(given.Devices, &api.DeviceSpec{HostPath: host, ContainerPath: container, Permissions: "rw"})
		return nil
	})
	flag.Func("cdi", "VENDOR/CLASS=NAME: a CDI device", func(name string) error {
		given.CdiDevices = append(given.CdiDevices, &api.CDIDevice{Name: name})
		return nil
	})
	flag.Parse()

	endpoint := strings.ReplaceAll(*resource, "/", "-") + ".sock"
	listener, err := net.Listen("unix", filepath.Join(api.DevicePluginPath, endpoint))
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, &plugin{given: given})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := register(*resource, endpoint); err != nil {
		log.Fatal(err)
	}
	log.Fatal(<-failed)
}
