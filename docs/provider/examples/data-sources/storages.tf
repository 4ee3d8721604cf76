data "proxwright_storages" "images" {
  node    = "pve1"
  content = "images"
}

output "free_bytes" {
  value = { for storage in data.proxwright_storages.images.storages : storage.name => storage.available_bytes }
}
