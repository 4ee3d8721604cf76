data "proxwright_templates" "ubuntu" {
  name_regex = "^ubuntu-"
}

output "ubuntu" {
  value = { for template in data.proxwright_templates.ubuntu.templates : template.name => template.vmid }
}
